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

/// Implements [`Repr`] and `__repr__` for a class, as its constructor with these fields would be
/// written.
macro_rules! class_repr {
    ($class:ident: $($field:ident),+ $(,)?) => {
        impl $crate::user_controllers::repr::Repr for $class {
            fn repr(&self) -> String {
                let fields = [$(format!(
                    concat!(stringify!($field), "={}"),
                    $crate::user_controllers::repr::Repr::repr(&self.$field)
                )),+];
                format!(concat!(stringify!($class), "({})"), fields.join(", "))
            }
        }

        #[pymethods]
        impl $class {
            fn __repr__(&self) -> String {
                $crate::user_controllers::repr::Repr::repr(self)
            }
        }
    };
}
pub(super) use class_repr;
