"""Training on a dataset at a service: upload it, submit a job, watch it, deploy the model."""
