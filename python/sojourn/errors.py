"""What can go wrong besides a wrong scenario (`sojourn.ScenarioError`)."""


class NotEnoughMemoryError(MemoryError):
    """The runs would need more memory than there is; nothing has run."""


class OutputExistsError(FileExistsError):
    """The folder to be written to holds something already."""


class UsageError(ValueError):
    """What was asked for cannot be done, in one sentence for the user."""


class OwnCodeError(UsageError):
    """The user's own Python raised an exception while it was loaded: the cause of this one."""


class RunDirectoryError(UsageError):
    """A folder is no run directory, or not one that this version can read."""


class PictureError(RuntimeError):
    """A picture could not be drawn; the data that it shows are not concerned."""


class PictureWarning(UserWarning):
    """Pictures beside the data could not be drawn or written; the data are complete."""
