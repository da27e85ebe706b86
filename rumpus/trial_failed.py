"""What a trial that is not valid raises."""


class TrialFailed(AssertionError):  # noqa: N818 - says what it is
    """A trial was not valid; the message tells the verdict, the story, and how to see it again."""
