/* Memory that grows, and a map of numbers. */

#include "windowed_search.h"

/* Room for more items; 0, or -1 with MemoryError set. */
int
reserve(void **items, size_t *room, size_t wanted, size_t item)
{
    if (wanted <= *room) {
        return 0;
    }
    size_t more = *room + (*room >> 1) + 64;
    if (more < wanted) {
        more = wanted;
    }
    void *grown = more > PTRDIFF_MAX / item ? NULL : PyMem_Realloc(*items, more * item);
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *items = grown;
    *room = more;
    return 0;
}

void *
zeroed(size_t count, size_t item)
{
    void *items = PyMem_Calloc(count ? count : 1, item);
    if (items == NULL) {
        PyErr_NoMemory();
    }
    return items;
}

int
map_put(Map *map, uint64_t high, uint64_t low, int32_t value)
{
    if (map->count * 2 >= map->size) {
        Map grown = {NULL, map->size ? map->size * 2 : 128, map->count};
        grown.cells = zeroed(grown.size, sizeof(Cell));
        if (grown.cells == NULL) {
            return -1;
        }
        for (size_t i = 0; i < map->size; i++) {
            if (map->cells[i].used) {
                grown.cells[map_place(&grown, map->cells[i].high, map->cells[i].low)] =
                    map->cells[i];
            }
        }
        PyMem_Free(map->cells);
        *map = grown;
    }
    Cell *cell = &map->cells[map_place(map, high, low)];
    map->count += !cell->used;
    *cell = (Cell){high, low, value, 1};
    return 0;
}

/* Give an object's own memory back, and its hold of its type. */
void
release(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DECREF(type);
}
