//! A failing disk: publishes say why, reads and settlements still work, nothing acknowledged is lost.

mod damage;
mod full;
mod lock;
mod scene;
mod sync;
