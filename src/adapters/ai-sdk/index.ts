// The public names of `counterfoil/ai-sdk`, nothing else.
export {}
