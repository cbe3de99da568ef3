//! The meter of the current run on this thread: steps, clock, memory, native stack.
//!
//! The interpreter asks for its program table before every step, and values pass through our own type, so both report
//! here. When a budget is used up the meter unwinds to [`run`], which turns that into an error: nothing a program can
//! catch, and nothing left behind. The meter lives in the thread because arithmetic on values carries no context.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use crate::error::{Exceeded, RunError};
use crate::limits::{ProgramLimits, STACK_BYTES};

/// Steps between two checks of the clock.
const STEPS_PER_CLOCK: u32 = 128;
/// Built bytes that take about as long as one step.
const BYTES_PER_STEP: usize = 256;

struct Meter {
    steps_left: Cell<u64>,
    bytes_left: Cell<usize>,
    output_bytes_left: Cell<usize>,
    deadline: Cell<Option<Instant>>,
    until_clock: Cell<u32>,
    stack_end: Cell<usize>,
    depth: Cell<u16>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            steps_left: Cell::new(0),
            bytes_left: Cell::new(0),
            output_bytes_left: Cell::new(0),
            deadline: Cell::new(None),
            until_clock: Cell::new(0),
            stack_end: Cell::new(0),
            depth: Cell::new(0),
        }
    };
}

/// The panic payload that unwinds the stack when a budget is used up.
struct Stopped(Exceeded);

/// Runs `work` under `limits`. A defect of the interpreter that panics ends here too.
pub(crate) fn run<T>(limits: &ProgramLimits, work: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    METER.with(|meter| {
        meter.steps_left.set(limits.steps);
        meter.bytes_left.set(limits.memory_bytes);
        meter.output_bytes_left.set(limits.output_bytes);
        meter.deadline.set(Instant::now().checked_add(limits.time));
        meter.until_clock.set(STEPS_PER_CLOCK);
        meter.stack_end.set(stack_position().saturating_sub(STACK_BYTES));
        meter.depth.set(limits.depth);
    });
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(explain(&*payload)))
}

/// One step of the interpreter.
pub(crate) fn step() {
    METER.with(|meter| {
        if stack_position() < meter.stack_end.get() {
            stop(Exceeded::Recursion);
        }
        meter.spend(1);
    });
}

/// `count` units of work done outside the interpreter, such as comparing or walking a value.
pub(crate) fn work(count: usize) {
    METER.with(|meter| meter.spend(count as u64));
}

/// `bytes` of values are about to be built.
pub(crate) fn build(bytes: usize) {
    METER.with(|meter| {
        match meter.bytes_left.get().checked_sub(bytes) {
            Some(left) => meter.bytes_left.set(left),
            None => stop(Exceeded::Memory),
        }
        meter.spend(1 + (bytes / BYTES_PER_STEP) as u64);
    });
}

/// `bytes` of output text were written.
pub(crate) fn output(bytes: usize) {
    METER.with(|meter| match meter.output_bytes_left.get().checked_sub(bytes) {
        Some(left) => meter.output_bytes_left.set(left),
        None => stop(Exceeded::OutputBytes),
    });
    work(bytes / BYTES_PER_STEP);
}

/// The nesting depth that values may have.
pub(crate) fn depth_limit() -> u16 {
    METER.with(|meter| meter.depth.get())
}

/// A value of this nesting depth is about to be built.
pub(crate) fn nest(depth: u16) -> u16 {
    if depth > depth_limit() {
        stop(Exceeded::Depth);
    }
    depth
}

/// Ends the run. `resume_unwind` does not call the panic hook: from outside this is an ordinary error.
pub(crate) fn stop(exceeded: Exceeded) -> ! {
    resume_unwind(Box::new(Stopped(exceeded)))
}

impl Meter {
    fn spend(&self, steps: u64) {
        match self.steps_left.get().checked_sub(steps) {
            Some(left) => self.steps_left.set(left),
            None => stop(Exceeded::Steps),
        }
        let until_clock = self.until_clock.get();
        if steps < u64::from(until_clock) {
            self.until_clock.set(until_clock - steps as u32);
        } else {
            self.until_clock.set(STEPS_PER_CLOCK);
            self.look_at_the_clock();
        }
    }

    fn look_at_the_clock(&self) {
        if self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline) {
            stop(Exceeded::Time);
        }
    }
}

fn explain(payload: &(dyn Any + Send)) -> RunError {
    if let Some(Stopped(exceeded)) = payload.downcast_ref() {
        return RunError::Limit(*exceeded);
    }
    let message =
        payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    RunError::Internal(message.unwrap_or("panic without a message").to_owned())
}

/// The current position of the native stack; it grows towards smaller addresses on every platform we build for.
#[inline(never)]
fn stack_position() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(std::hint::black_box(&marker)).addr()
}
