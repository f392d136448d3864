"""``gdamn train`` by several processes together: how they are started, find each other and end."""
