"""What every run is asked, whatever its workload."""
