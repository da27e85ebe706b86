import io
import logging as real_logging


def test_logs_belong_to_their_process_and_carry_its_time(world):
    errors = {host: io.StringIO() for host in "ab"}
    name = world.write(
        """
        import logging, time
        def main(level):
            logging.basicConfig(level=level, format="%(asctime)s %(name)s %(message)s %(process)d")
            time.sleep(5)
            logging.getLogger("x.y").info("hello")
            logging.getLogger("x.y").warning("careful")
        """
    )
    before = list(real_logging.root.handlers)
    for host, level in (("a", "INFO"), ("b", "WARNING")):
        space = world.space(name, host=host, stderr=errors[host])
        space.start(space.load(name).main, level)
    world.simulator.run(10_000_000_000)
    first, second = world.simulator.processes
    stamp = "2023-11-14 22:13:25,000 x.y"
    assert errors["a"].getvalue() == (f"{stamp} hello {first.pid}\n{stamp} careful {first.pid}\n")
    assert errors["b"].getvalue() == f"{stamp} careful {second.pid}\n"
    assert real_logging.root.handlers == before
    assert "x.y" not in real_logging.root.manager.loggerDict
