"""Keys of pairs to which of them stay, and where. One module a command, all of them pure."""
