/* The extension module; what it has is described in _codec.pyi. */

#include "parts.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_codec",
    .m_doc = "DynamoDB's JSON to Python values and back, each in one pass.",
    .m_size = -1,
};

PyMODINIT_FUNC
PyInit__codec(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyTypeObject *types[] = {&JsonItemType, &AnswerReaderType, &ItemDecoderType, &ItemEncoderType};
    if (module != NULL && decode_begin() < 0) {
        Py_CLEAR(module);
    }
    for (size_t i = 0; module != NULL && i < sizeof(types) / sizeof(types[0]); i++) {
        if (PyModule_AddType(module, types[i]) < 0) {
            Py_CLEAR(module);
        }
    }
    return module;
}
