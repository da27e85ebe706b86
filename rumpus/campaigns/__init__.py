"""Many runs for one purpose: exploring, shrinking, replaying and bisecting failures."""
