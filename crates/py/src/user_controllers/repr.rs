//! `repr()` of the inputs of a Python controller.

/// A value in Python's notation.
pub(super) trait Repr {
    fn repr(&self) -> String;
}

impl Repr for u64 {
    fn repr(&self) -> String {
        self.to_string()
    }
}

impl Repr for bool {
    fn repr(&self) -> String {
        if *self { "True" } else { "False" }.to_owned()
    }
}

impl<T: Repr> Repr for Option<T> {
    fn repr(&self) -> String {
        self.as_ref().map_or("None".to_owned(), Repr::repr)
    }
}

impl<T: Repr> Repr for Vec<T> {
    fn repr(&self) -> String {
        let items: Vec<String> = self.iter().map(Repr::repr).collect();
        format!("[{}]", items.join(", "))
    }
}

/// Declares a class of inputs with the value of each field, and its `repr()`, as its constructor
/// with these fields would be written.
macro_rules! input {
    (
        $(#[$about:meta])*
        $class:ident($from:ident: $contract:ty) {
            $($(#[$doc:meta])* $field:ident: $type:ty = $value:expr,)+
        }
    ) => {
        $(#[$about])*
        #[pyclass(module = "sojourn", frozen, get_all)]
        pub(crate) struct $class {
            $($(#[$doc])* $field: $type,)+
        }

        impl $class {
            pub(super) fn new($from: $contract) -> $class {
                $class { $($field: $value,)+ }
            }
        }

        impl Repr for $class {
            fn repr(&self) -> String {
                let fields =
                    [$(format!(concat!(stringify!($field), "={}"), self.$field.repr())),+];
                format!(concat!(stringify!($class), "({})"), fields.join(", "))
            }
        }

        #[pymethods]
        impl $class {
            fn __repr__(&self) -> String {
                self.repr()
            }
        }
    };
}
pub(super) use input;
