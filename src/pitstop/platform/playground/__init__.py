"""The playground: trying the prompt of an agent on a repository, without a card."""
