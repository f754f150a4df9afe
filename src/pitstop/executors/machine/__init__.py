"""What runs on a machine: processes, containers, workspaces, and snapshots of them."""
