"""Events through all processes of a stack, which the files of this folder share."""
