//! Nothing but a home for the integration tests and the child process they kill.
