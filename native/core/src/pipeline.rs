//! Jobs done by several threads, whose results come in the order of the jobs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::panics::caught;

/// As many threads as there are workers: the one that asks for results is one of them. It works while
/// the next result is not there yet, so no thread waits as long as there are jobs.
pub struct Pipeline<W, J, T> {
    shared: Arc<Shared<W, J, T>>,
    threads: Vec<JoinHandle<()>>,
    /// The worker of this thread.
    own: W,
    begun: u64,
    taken: u64,
}

type Work<W, J, T> = dyn Fn(&mut W, J) -> T + Send + Sync;

struct Shared<W, J, T> {
    work: Box<Work<W, J, T>>,
    state: Mutex<State<J, T>>,
    /// There is a job, or there will be none.
    more: Condvar,
    done: Condvar,
}

struct State<J, T> {
    jobs: VecDeque<(u64, J)>,
    results: HashMap<u64, Result<T, String>>,
    ended: bool,
}

impl<W, J, T> Pipeline<W, J, T>
where
    W: Send + 'static,
    J: Send + 'static,
    T: Send + 'static,
{
    /// The workers of this thread and of others.
    pub fn new(
        own: W,
        others: Vec<W>,
        work: impl Fn(&mut W, J) -> T + Send + Sync + 'static,
    ) -> Self {
        let state = State { jobs: VecDeque::new(), results: HashMap::new(), ended: false };
        let (more, done) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { work: Box::new(work), state: state.into(), more, done });
        let threads = others.into_iter().map_while(|mut worker| {
            let shared = shared.clone();
            let work = move || shared.work_until_the_end(&mut worker);
            Builder::new().spawn(work).ok() // as many as the system allows
        });
        let threads = threads.collect();
        Pipeline { shared, threads, own, begun: 0, taken: 0 }
    }

    pub fn begin(&mut self, job: J) {
        self.shared.state().jobs.push_back((self.begun, job));
        self.shared.more.notify_one();
        self.begun += 1;
    }
}

impl<W, J, T> Pipeline<W, J, T> {
    /// How many jobs were begun whose results were not taken yet.
    pub fn waiting(&self) -> usize {
        (self.begun - self.taken) as usize
    }
}

impl<W, J, T> Iterator for Pipeline<W, J, T> {
    type Item = Result<T, String>;

    /// The result of the oldest job, or what a panic said; nothing if there is no job.
    fn next(&mut self) -> Option<Self::Item> {
        let mut state = self.shared.state();
        while self.waiting() > 0 {
            if let Some(result) = state.results.remove(&self.taken) {
                self.taken += 1;
                return Some(result);
            }
            state = match state.jobs.pop_front() {
                Some(job) => {
                    drop(state);
                    self.shared.work(&mut self.own, job)
                }
                None => self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        None
    }
}

impl<W, J, T> Drop for Pipeline<W, J, T> {
    /// Jobs that have not begun are dropped.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.jobs.clear();
        state.ended = true;
        drop(state);
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // what a panic said is among the results
        }
    }
}

impl<W, J, T> Shared<W, J, T> {
    fn state(&self) -> MutexGuard<'_, State<J, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do a job, and keep its result.
    fn work(&self, worker: &mut W, (number, job): (u64, J)) -> MutexGuard<'_, State<J, T>> {
        let result = caught(|| (self.work)(worker, job));
        let mut state = self.state();
        state.results.insert(number, result);
        self.done.notify_one();
        state
    }

    fn work_until_the_end(&self, worker: &mut W) {
        let mut state = self.state();
        while !state.ended {
            state = match state.jobs.pop_front() {
                Some(job) => {
                    drop(state);
                    self.work(worker, job)
                }
                None => self.more.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pipeline;

    #[test]
    fn results_come_in_the_order_of_their_jobs() {
        for others in [0, 1, 3] {
            let mut pipeline = Pipeline::new(0, vec![0; others], |done: &mut u64, job: u64| {
                *done += 1;
                std::thread::sleep(std::time::Duration::from_micros(job * 7 % 50));
                assert!(job != 60, "no {job}");
                job * job
            });
            let mut found = Vec::new();
            for job in 0..100 {
                pipeline.begin(job);
                if pipeline.waiting() > 8 {
                    found.extend(pipeline.next());
                }
            }
            found.extend(&mut pipeline);
            assert_eq!(found.len(), 100);
            for (job, result) in (0..).zip(found) {
                let expected = if job == 60 { Err("no 60".to_owned()) } else { Ok(job * job) };
                assert_eq!(result, expected);
            }
            assert!(pipeline.next().is_none());
        }
    }

    #[test]
    fn jobs_that_nobody_asks_for_do_not_keep_it_from_ending() {
        let mut pipeline = Pipeline::new((), vec![(); 2], |(), job: u32| job);
        (0..1000).for_each(|job| pipeline.begin(job));
        assert_eq!(pipeline.next(), Some(Ok(0)));
    }
}
