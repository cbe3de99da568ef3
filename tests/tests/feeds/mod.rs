//! Change feeds of a real hub: killed while it publishes, and the topic is the oplog's order all the same.

mod killed;
