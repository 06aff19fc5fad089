"""The rooms below say what they hold."""
