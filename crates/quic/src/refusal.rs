//! Controllers that a stack cannot run.

/// A controller that a kit cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KitError {
    /// No controller has this name.
    #[error("there is no controller `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names of all controllers.
        known: Vec<String>,
    },
    /// The controller needs an input that the stack cannot give.
    #[error("`{name}` needs {need}, which {stack} does not give; choose another controller")]
    Lacks {
        /// The stack.
        stack: &'static str,
        /// The controller.
        name: String,
        /// The input.
        need: &'static str,
    },
}
