//! One dispatcher's part of what a group has in flight.

use std::sync::Arc;

use super::GroupMeter;

/// Adds its part to the group's gauge and takes it back when the dispatcher ends, however it ends.
#[derive(Debug)]
pub(crate) struct InFlight {
    meter: Arc<GroupMeter>,
    told: usize,
}

impl InFlight {
    pub fn new(meter: Arc<GroupMeter>) -> Self {
        Self { meter, told: 0 }
    }

    pub fn tell(&mut self, leased: usize) {
        if leased != self.told {
            self.meter.in_flight.add(signed(leased) - signed(self.told));
            self.told = leased;
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.tell(0);
    }
}

fn signed(leased: usize) -> i64 {
    i64::try_from(leased).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispatchers_add_up_and_leave_nothing_behind() {
        let meter = Arc::new(GroupMeter::default());
        let (mut one, mut other) = (InFlight::new(meter.clone()), InFlight::new(meter.clone()));
        one.tell(5);
        other.tell(7);
        one.tell(2);
        assert_eq!(meter.in_flight.get(), 9);
        drop(other);
        assert_eq!(meter.in_flight.get(), 2);
        drop(one);
        assert_eq!(meter.in_flight.get(), 0);
    }
}
