"""Use cases, written against ports.  Doors translate to and from these and add no rule."""
