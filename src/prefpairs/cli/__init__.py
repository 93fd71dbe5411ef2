"""Words to plans, facts to sentences. One module a command; typer and rich live here only."""
