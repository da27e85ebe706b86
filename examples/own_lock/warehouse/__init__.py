"""Books goods in and out of a warehouse; one picker at a time may work in an aisle."""
