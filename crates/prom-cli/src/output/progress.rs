//! Progress of long work on standard error: a bar or a spinner on a terminal, nothing elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

pub struct Progress {
    bar: ProgressBar,
}

const REDRAW: Duration = Duration::from_millis(100);
const BAR: &str = "{msg} {bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}";
const BYTES: &str = "{spinner} {msg} {decimal_bytes} {decimal_bytes_per_sec}";
const EVENTS: &str = "{msg} {bar:30} {human_pos}/{human_len} {rate} {eta}";
const COUNT: &str = "{spinner} {msg} {human_pos} {rate}";

impl Progress {
    /// Bytes, of a total where that is known.
    pub fn bytes(what: &str, total: Option<u64>) -> Self {
        let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
        Self::styled(bar, if total.is_some() { BAR } else { BYTES }, what)
    }

    /// Things whose number is not known beforehand.
    pub fn count(what: &str) -> Self {
        Self::styled(ProgressBar::no_length(), COUNT, what)
    }

    /// Events, whose number becomes known on the way.
    pub fn events(what: &str) -> Self {
        Self::styled(ProgressBar::new(0), EVENTS, what)
    }

    /// So many are done, and so many are left.
    pub fn is_at(&self, done: u64, left: u64) {
        self.bar.set_length(done + left);
        self.bar.set_position(done);
    }

    fn styled(bar: ProgressBar, template: &str, what: &str) -> Self {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", rate));
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(REDRAW);
        Self { bar }
    }

    pub fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    pub fn now_at(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }
}

/// Events are whole, and so is their rate.
fn rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // Writing to a text cannot fail.
    let _cannot_fail = write!(out, "{:.0}/s", state.per_sec());
}

/// Leaves nothing behind; the summary that follows says it all.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
