"""Learn predictors: kernel ridge regression, support vector machines, and methods that also learn weights."""
