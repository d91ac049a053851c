"""A server and a gateway under mixed traffic, kills and full disks, for as long as one likes."""
