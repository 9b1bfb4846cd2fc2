"""The doors: messages in, one service call, messages out.  No rules of the engine here."""
