// The public names of `counterfoil/langgraph`, nothing else.
export {}
