"""Files written completely or not at all, and crash-safe temporary folders."""
