"""Whether the servers kept ZooKeeper's promises, in every run, whatever the recipe."""
