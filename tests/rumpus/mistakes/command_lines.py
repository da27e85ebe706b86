"""Command lines with a mistake each, in the order in which a new user may make them."""

MISTAKES = [
    "",
    "walk",
    "rnu lock",
    "--verison",
    "run",
    "run lokc",
    "run teapot",
    "run double_barrier",
    "run lock --recipe fiar",
    "run lock --recipe magic",
    "run election --recipe no-lookup",
    "run lock fair",
    "run lock --nemesis kil",
    "run lock --nemesis kill,partitoin,gremlin",
    "run lock --nemesis none,kill",
    "run lock --nemesis ''",
    "run lock --fault chaos:Monkey",
    "run lock --nodes 0",
    "run lock --nodes three",
    "run lock --nodes 1",
    "run lock --clients 301",
    "run lock --time-limit soon",
    "run lock --time-limit 2",
    "run lock --duration 20",
    "run lock --sed 7",
    "run lock --seed",
    "run lock --seed x",
    "run lock --swarm brutel",
    "run lock --usage thnik=1",
    "run lock --usage think=fast",
    "run lock --ensemble cloud",
    "run lock --ensemble docker",
    "run lock --zookeeper 3.7.2",
    "run lock --kazoo 2.99.0/",
    "run lock --plan plan.json",
    "run lock --plan gremlin.json",
    "run lock --plan late.json",
    "run lock --promise fairness",
    "run lock --recipe redlock --ensemble docker",
    "run lock --server-mutant early-ack",
    "run queue --action-time 1",
    "run lock --recipe shop/locks.py:Lock",
    "run lock --recipe shop.locks",
    "run lock --recipe shop.locks.Lock",
    "run lock --recipe shop.lokcs:Lock",
    "run lock --recipe shop.locks:Lokc",
    "run lock --recipe shop.typo:Lock",
    "run lock --recipe shop.raises:Lock",
    "run lock --recipe shop.locks:Half",
    "run lock --recipe shop.locks:Relase",
    "run lock --recipe shop.locks:Lock --promise fairness",
    "run lock --recipe shop.locks:Lock --promise exlusion",
    "run shop.locks:Lock",
    "explore lock --jobs 0",
    "check",
    "check nowhere",
    "check notes.txt",
    "check notes.txt --model regsiter",
    "check history.jsonl --svg picture.svg",
    "replay nowhere.case.json",
    "shrink notes.txt",
    "nights --store notes.sqlite",
    "mutants --family lokc",
    "list --yaml",
    "init --workload lokc",
    "sim-server --port 99999",
    "serve --port 99999",
    "serve --host",
    "nights --html",
]

FILES = {
    "shop/__init__.py": "",
    "shop/locks.py": """
class Lock:
    def __init__(self, client, path):
        self.client, self.path = client, path

    def acquire(self):
        self.client.create(self.path, ephemeral=True, makepath=True)

    def release(self):
        self.client.delete(self.path)


class Half:
    def __init__(self, client, path):
        pass

    def acquire(self):
        pass


class Relase(Half):
    def relase(self):
        pass
""",
    "shop/typo.py": "class Lock:\n    def acquire(self)\n        return True\n",
    "shop/raises.py": "import redlock_of_the_shop\n",
    "notes.txt": "Buy milk.\n",
    "notes.sqlite": "not a store",
    "gremlin.json": """{"version": 1, "entries": [
        {"at": 1, "kind": "gremlin", "targets": {"role": "leader"}, "duration": 2}]}""",
    "late.json": """{"version": 1, "entries": [
        {"at": 90, "kind": "kill", "targets": {"role": "leader"}, "duration": 2}]}""",
    "history.jsonl": """{"process": 0, "type": "invoke", "f": "write", "value": 1, "time": 0}
{"process": 0, "type": "ok", "f": "write", "value": 1, "time": 1}
""",
}
"""The files of the directory in which they are typed."""
