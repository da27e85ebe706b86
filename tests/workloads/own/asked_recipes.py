"""Kazoo's recipes with a mistake in what clients of most trials do not call."""

from kazoo.recipe.queue import LockingQueue, Queue


class OneByOneQueue(LockingQueue):
    """Puts several elements one after the other: of some only the first ones arrive."""

    def put_all(self, values, priority=100):
        for value in values:
            self.put(value, priority)


class FirstLengthQueue(Queue):
    """Goes on telling how many elements it found when it was first asked."""

    told = None

    def __len__(self):
        if self.told is None:
            self.told = super().__len__()
        return self.told
