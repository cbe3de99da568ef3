//! The hub over WebSocket, frame by frame.

mod deliver;
mod publish;
mod scene;
