"""One `helix up` with every service and the gateway, which the files of this folder share."""
