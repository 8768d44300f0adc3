// The packages of other projects. They are installed in this folder alone, and only by those who
// run the comparison: so their types are not known here.

/**
 * @param {string} name
 * @returns {Promise<any>}
 */
export const peer = (name) => import(name)
