"""The witness: the resource that a lock is there to protect.

It lives in the control process, where no fault reaches it, and puts all actions into one
order. With fencing it refuses a token lower than the highest it has seen, as storage does
that checks fencing tokens (Kleppmann 2016; Chubby's sequencers).
"""


class Witness:
    """Orders actions and, with ``fencing``, refuses those of stale holders."""

    def __init__(self, *, fencing: bool = False) -> None:
        self.fencing = fencing
        self.actions = 0
        self.refused = 0
        self.highest: int | None = None

    def act(self, token: int | None) -> tuple[bool, int]:
        """One action: whether it is accepted, and its place in the order of all actions.

        With fencing on, an action without a token is refused: even where the recipe
        promises tokens, a holder has none if the reply with its token was lost.
        """
        order = self.actions
        self.actions += 1
        if self.fencing:
            if token is None or (self.highest is not None and token < self.highest):
                self.refused += 1
                return False, order
            self.highest = token
        return True, order
