// Comments, and decisions about many items at once.
import type { Route } from '../route.ts'

export const approvalRoutes: Route[] = []
