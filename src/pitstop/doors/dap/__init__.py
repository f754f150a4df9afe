"""The Debug Adapter Protocol: any editor that speaks it debugs a flow, or a graph, like a program."""
