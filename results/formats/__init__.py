"""History formats of other tools: Jepsen's EDN and Porcupine's logs."""
