//! A disk that fails: publishes say why, reads and settlements go on, nothing acknowledged is lost.

mod damage;
mod full;
mod lock;
mod scene;
mod sync;
