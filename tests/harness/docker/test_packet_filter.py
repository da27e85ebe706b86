from rumpus.harness.docker.packet_filter import drop_script, dropped, loss_script, lossy, reached

LISTING = """\
-P INPUT ACCEPT
-P FORWARD ACCEPT
-P OUTPUT ACCEPT
-N RUMPUS
-A INPUT -j RUMPUS
-A RUMPUS -s 172.18.0.3/32 -j DROP
-A RUMPUS -s 172.18.0.4/32 -j DROP
"""


def test_script_drops_each_source_in_one_load():
    script = drop_script(["172.18.0.4", "172.18.0.3"])
    assert (
        r"*filter\n:RUMPUS - [0:0]\n-A RUMPUS -s 172.18.0.3/32 -j DROP\n"
        r"-A RUMPUS -s 172.18.0.4/32 -j DROP\nCOMMIT\n"
    ) in script
    assert script.count("iptables-restore") == 1


def test_script_without_sources_empties_the_chain():
    assert r"*filter\n:RUMPUS - [0:0]\nCOMMIT\n" in drop_script([])
    assert "DROP" not in drop_script([])


def test_listing_is_read_back():
    assert dropped(LISTING) == {"172.18.0.3", "172.18.0.4"}


def test_untouched_filter_drops_nothing():
    assert dropped("-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n") == frozenset()


def test_rules_that_nothing_jumps_to_are_not_in_force():
    assert dropped(LISTING.replace("-A INPUT -j RUMPUS\n", "")) == frozenset()


def test_rules_that_drop_only_some_packets_are_no_partition():
    some = "-A RUMPUS -s 172.18.0.9/32 -m statistic --mode random --probability 0.1 -j DROP\n"
    assert "172.18.0.9" not in dropped(LISTING + some)


RULE = "-A RUMPUS-LOSSES"
RANDOM = "-m statistic --mode random --probability"
COUNTED = f"""\
-P INPUT ACCEPT -c 100 5000
-N RUMPUS-LOSSES
-A INPUT -c 90 4000 -j RUMPUS-LOSSES
{RULE} -s 172.18.0.3/32 {RANDOM} 0.25000000000 -c 12 720 -j DROP
{RULE} -s 172.18.0.4/32 {RANDOM} 0.09999999986 -c 0 0 -j DROP
"""


def test_losses_are_loaded_at_once_and_read_back_with_their_counters():
    script = loss_script({"172.18.0.4": 0.1, "172.18.0.3": 0.25})
    assert r":RUMPUS-LOSSES - [0:0]\n-A RUMPUS-LOSSES -s 172.18.0.3/32 -m statistic" in script
    assert "--probability 0.1000 -j DROP" in script
    assert lossy(COUNTED) == {"172.18.0.3": (0.25, 12), "172.18.0.4": (0.1, 0)}
    assert lossy(COUNTED.replace("-c 90 4000 ", "")) == lossy(COUNTED)


def test_losses_that_nothing_jumps_to_are_not_in_force_and_a_partition_is_none():
    assert lossy(COUNTED.replace("-A INPUT -c 90 4000 -j RUMPUS-LOSSES\n", "")) == {}
    assert lossy(LISTING) == {}
    assert dropped(COUNTED + LISTING) == {"172.18.0.3", "172.18.0.4"}


def test_a_refusal_by_the_target_shows_that_packets_pass():
    assert reached(1, "bash: connect: Connection refused\n")
    assert reached(0, "")


def test_silence_and_errors_on_the_way_show_that_they_do_not():
    assert not reached(124, "")
    assert not reached(1, "bash: connect: No route to host\n")
