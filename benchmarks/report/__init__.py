"""Reports: how long they take, how large they are, how soon they are shown, and pictures."""
