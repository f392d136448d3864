"""The methods that GDAMN is compared with: one file each, the same estimator interface."""
