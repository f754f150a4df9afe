"""MAKING IT HAPPEN: the life of a run, on asyncio alone; it knows no server, no database and no debugger."""
