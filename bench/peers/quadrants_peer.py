"""bench/peers/quadrants_peer.py -- Quadrants runs what taichi_peer.py has."""
import os

os.environ["PEER_LANGUAGE"] = "quadrants"

from taichi_peer import *
from taichi_peer import CANNOT, VERSION
